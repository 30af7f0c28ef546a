/** Each list has one value per round. */
export interface Row {
  scenario: string
  contender: string
  /** Requests, logins or transfers. */
  unit: string
  perSecond: number[]
  p50: number[]
  p99: number[]
  /** Seconds per 10,000 units. Empty if the contender has no separate process. */
  cpu: number[]
}

/** A target refers to a figure by its id. `values` has one value per round. */
interface Figure {
  id: string
  values: number[]
}

export interface Outcome {
  scenario: string
  rows: Row[]
  figures: Figure[]
  /** Printed below the table. */
  notes: string[]
  /** Incorrect responses and failed checks, which fail the run. */
  faults: string[]
  profiles: string[]
}
