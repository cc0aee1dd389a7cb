export function Import() { return <p>Import</p>; }
