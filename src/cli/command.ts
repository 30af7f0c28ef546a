import type { ParseArgsOptionsConfig } from 'node:util'

/** Options that a command does not understand: exit code 2. */
export class UsageError extends Error {}

export interface Command {
  /** One or two words. */
  name: string
  summary: string
  help: string
  options: ParseArgsOptionsConfig
  /** Answers the exit code. */
  run(values: Record<string, unknown>): Promise<number>
}
