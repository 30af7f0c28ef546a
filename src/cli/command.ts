import type { ParseArgsOptionsConfig } from 'node:util'
import type { z } from 'zod'

/** Options that a command does not understand: exit code 2. */
export class UsageError extends Error {}

/** The values of options by their schema, or a UsageError that says all that is wrong with them. */
export const parseOptions = <T>(schema: z.ZodType<T>, values: Record<string, unknown>): T => {
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  throw new UsageError(parsed.error.issues.map(({ message }) => message).join('; '))
}

export interface Command {
  /** One or two words. */
  name: string
  summary: string
  help: string
  options: ParseArgsOptionsConfig
  /** Answers the exit code. */
  run(values: Record<string, unknown>): Promise<number>
}
