/** What a job's work is told. */
export interface JobFacts {
  jobId: string
  /** From 1. */
  attempt: number
  /** Aborted when the lease is lost or the process goes down: whatever is written after that may be written twice. */
  signal: AbortSignal
}

/** A kind of work. It may be begun again after a killed process, so it must bear being done twice. */
export interface JobKind {
  name: string
  /** Attempts before it is given up; a recurring kind is never given up. */
  attempts: number
  /** Recurring: again so long after its last end, once over all replicas. */
  everyMs?: number
  /** Of a recurring one: its first time is so long after the first start, which has enough to do. At once otherwise. */
  initialDelayMs?: number
  /** Of one that people ask for and that may take minutes: however many wait, one of a process's lines of work is left to the others. */
  isLong?: boolean
  work(payload: unknown, facts: JobFacts): Promise<void>
  /** What is left to be done where it is given up, before it is; it must bear being done twice as well. */
  abandon?(payload: unknown): Promise<void>
}
