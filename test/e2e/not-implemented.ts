/** Operations that are declared and not served yet. They answer 501; this list may only shrink. */
export const notImplemented: readonly string[] = []
