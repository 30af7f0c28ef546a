/**
 * Joins the declarations of several owners into one table by name. Throws if two owners declare the same name, and names
 * both. `kind` describes the declarations in that error.
 */
export const joinDeclarations = <T>(
  kind: string,
  declarations: readonly (readonly [owner: string, name: string, value: T])[],
): ReadonlyMap<string, T> => {
  const owners = new Map<string, string>()
  const all = new Map<string, T>()
  for (const [owner, name, value] of declarations) {
    const other = owners.get(name)
    if (other !== undefined) throw new TypeError(`${kind} ${name} is declared by ${other} and by ${owner}`)
    owners.set(name, owner)
    all.set(name, value)
  }
  return all
}
