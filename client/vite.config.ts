import { defineConfig } from "vite";

// The built page lies inside the Python package; it is not committed.
export default defineConfig({
  base: "/static/client/",
  build: {
    outDir: "../src/sidelight/web/static/client",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // everything is a file of this server: the page's policy allows nothing else
    modulePreload: { polyfill: false },
  },
});
