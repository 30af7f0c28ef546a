import type { Readable } from 'node:stream'
import type { ParseArgsOptionsConfig } from 'node:util'
import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import type { Variables } from '../config/env.ts'
import type { Screen } from './progress.ts'

/** Invalid options. The exit code is 2. */
export class UsageError extends Error {}

/** Throws a UsageError if the configuration switches off a domain that the command needs. */
export function assertDomains(command: string, names: readonly string[], domains: readonly { name: string }[]): void {
  const missing = names.filter((name) => !domains.some((each) => each.name === name))
  if (missing.length > 0)
    throw new UsageError(`${command} needs ${missing.join(', ')} of Portico's own domains, which this gateway lacks`)
}

/** Throws a UsageError that lists every error. */
export function parseOptions<T>(schema: z.ZodType<T>, values: Record<string, unknown>): T {
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  throw new UsageError(parsed.error.issues.map(({ message }) => message).join('; '))
}

export function httpUrl(option: string) {
  return z
    .string()
    .refine((text) => /^https?:\/\/[^@]+$/.test(text) && URL.canParse(text), {
      message: `${option} must be an http(s) URL`,
    })
    .transform((text) => new URL(text))
}

export const helpOption = { help: { type: 'boolean', short: 'h' } } as const satisfies ParseArgsOptionsConfig

/** The streams and variables of a command, so that a test can run it in its own process. */
export interface CommandContext {
  domains: readonly Domain[]
  variables: Variables
  stdin: Readable
  stdout: Pick<Screen, 'write'>
  /** Progress is drawn only on a terminal. */
  stderr: Screen
}

/** A command of the `portico` program. */
export interface Command {
  /** One or two words. */
  name: string
  /** Name of the positional argument. */
  argument?: string
  summary: string
  help: string
  options: ParseArgsOptionsConfig
  /** Resolves with the exit code. */
  run(values: Record<string, unknown>, context: CommandContext): Promise<number>
}

export function helpOf({ name, summary, help }: Pick<Command, 'name' | 'summary' | 'help'>): string {
  return `portico ${name}: ${summary}\n\n${help}\n`
}
