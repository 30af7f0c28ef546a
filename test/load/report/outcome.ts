/** Measurements of one contender, one value per round. */
export interface Row {
  scenario: string
  contender: string
  /** Counted unit: requests, logins or transfers. */
  unit: string
  perSecond: number[]
  p50: number[]
  p99: number[]
  /** CPU seconds per 10,000 units; empty without a separate process. */
  cpu: number[]
}

/** A target's measurement, one value per round. */
interface Figure {
  id: string
  values: number[]
}

export interface Outcome {
  scenario: string
  rows: Row[]
  figures: Figure[]
  /** Notes printed below the table. */
  notes: string[]
  /** Incorrect responses. Any of them fails the run. */
  faults: string[]
  profiles: string[]
}
