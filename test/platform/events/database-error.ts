/** An error as the drivers throw it. */
export function createDatabaseError(state: string): Error {
  return Object.assign(new Error(state), { code: state })
}
