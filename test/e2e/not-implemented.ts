/** Operations that return 501. This list may only get shorter. */
export const notImplemented: readonly string[] = []
