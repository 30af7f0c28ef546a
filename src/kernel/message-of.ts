/** What an error says of itself; anything may be thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
