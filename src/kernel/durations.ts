/** The only source of durations behind the portal: monotonic time and timers. */
export interface Durations {
  /** Milliseconds from an arbitrary start. */
  now(): number
  /** Calls `task` once. */
  after(milliseconds: number, task: () => void): Timer
  every(milliseconds: number, task: () => void): Timer
}

/** The part of a Node.js timer that is used. */
export interface Timer {
  /** Stops the timer. */
  close(): unknown
  /** Starts the time again. */
  refresh(): unknown
  /** Lets the process exit earlier. */
  unref(): unknown
}
