export function Statements() { return <p>Statements</p>; }
