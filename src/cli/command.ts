import type { ParseArgsOptionsConfig } from 'node:util'
import type { z } from 'zod'
import type { Domain } from '../api/domain.ts'

/** Invalid options of a command: exit code 2. */
export class UsageError extends Error {}

/** Parses option values by a schema. Throws a UsageError that lists every error. */
export const parseOptions = <T>(schema: z.ZodType<T>, values: Record<string, unknown>): T => {
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  throw new UsageError(parsed.error.issues.map(({ message }) => message).join('; '))
}

/** A command of the `portico` program. */
export interface Command {
  /** One or two words. */
  name: string
  summary: string
  help: string
  options: ParseArgsOptionsConfig
  /** Runs the command for these domains and those of the configured extensions. Resolves with the exit code. */
  run(values: Record<string, unknown>, domains: readonly Domain[]): Promise<number>
}
