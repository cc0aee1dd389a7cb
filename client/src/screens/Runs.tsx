export function Runs() { return <p>Runs</p>; }
