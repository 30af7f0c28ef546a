import type { ParseArgsOptionsConfig } from 'node:util'

export interface Command {
  /** One or two words. */
  name: string
  summary: string
  help: string
  options: ParseArgsOptionsConfig
  /** Answers the exit code. `root` is the package's folder. */
  run(invocation: { root: string; values: Record<string, unknown> }): Promise<number>
}
