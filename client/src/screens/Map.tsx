export function MapScreen() { return <p>Map</p>; }
