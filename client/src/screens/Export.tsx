export function Export() { return <p>Export</p>; }
