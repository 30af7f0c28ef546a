/** The account that a page shows. Null until one is seen. */
export interface AccountGuard {
  account: string | null
}

const guards = new WeakMap<object, Map<string, AccountGuard>>()

/**
 * Returns the guard that all clients of a storage share, so that a second client of the page does not act for an account that
 * another tab has signed in. Each tab has its own storage object.
 */
export function guardOf(storage: object, key: string): AccountGuard {
  const ofStorage = guards.get(storage) ?? new Map<string, AccountGuard>()
  guards.set(storage, ofStorage)
  const guard = ofStorage.get(key) ?? { account: null }
  ofStorage.set(key, guard)
  return guard
}
