/** Declared operations without a handler, which return 501. Only remove entries. */
export const notImplemented: readonly string[] = []
