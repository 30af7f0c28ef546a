const constants = new WeakSet<object>()

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) freeze(member)
}

/** Freezes an answer that will be given again and again, wholly, and marks it so that it is checked and written out once. */
export const constant = <T extends object>(value: T): T => {
  freeze(value)
  constants.add(value)
  return value
}

export const isConstant = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && constants.has(value)
