/** A timer that is set for longer, or for ever, ends at once: its time is kept in 31 bits, some 24 days. */
export const longestTimerMs = 2 ** 31 - 1
