/**
 * Calls `late` after so many milliseconds. What came while this process did something else, or nothing, lies in the socket
 * unread: it is looked for once more before it counts as too late, so `late` may be called of what has just come.
 */
export const whenLate = (late: () => void, milliseconds: number): NodeJS.Timeout =>
  setTimeout(() => setImmediate(late), milliseconds)
