/** What was measured of one contender, a value a round. */
export interface Row {
  scenario: string
  contender: string
  /** What is counted: requests, logins, transfers. */
  unit: string
  perSecond: number[]
  p50: number[]
  p99: number[]
  /** CPU seconds of its process per 10,000 of them; empty where it has no process of its own. */
  cpu: number[]
}

/** A figure that a target is about, a value a round. */
interface Figure {
  id: string
  values: number[]
}

export interface Outcome {
  scenario: string
  rows: Row[]
  figures: Figure[]
  /** What a reader of the table has to know. */
  notes: string[]
  /** Wrong answers: any fails the run. */
  faults: string[]
  profiles: string[]
}
