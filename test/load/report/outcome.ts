/** Measurements of one contender. Each list has one value per round. */
export interface Row {
  scenario: string
  contender: string
  /** What is counted: requests, logins or transfers. */
  unit: string
  perSecond: number[]
  p50: number[]
  p99: number[]
  /** CPU seconds per 10,000 units. Empty if the contender has no separate process. */
  cpu: number[]
}

/** A measurement that a target can refer to. `values` has one value per round. */
interface Figure {
  id: string
  values: number[]
}

export interface Outcome {
  scenario: string
  rows: Row[]
  figures: Figure[]
  /** Remarks that are printed below the table. */
  notes: string[]
  /** Incorrect responses and failed checks. A run with faults fails. */
  faults: string[]
  profiles: string[]
}
