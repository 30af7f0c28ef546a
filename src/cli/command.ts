import type { Readable } from 'node:stream'
import type { ParseArgsOptionsConfig } from 'node:util'
import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import type { Variables } from '../config/env.ts'
import { reason as reasonField } from '../contract/fields.ts'
import type { Screen } from './progress.ts'

/** Invalid options. The exit code is 2. */
export class UsageError extends Error {}

export const onlyOneProcess =
  'The embedded store can be used by one process only: stop the gateway first, or use PostgreSQL.'

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

const reasonRequired = { error: '--reason is required: up to 256 printable characters for the audit log' }

/** Every command that changes the store needs a reason. */
export const reasonText = z
  .string(reasonRequired)
  .refine((text) => text.trim() !== '' && reasonField.safeParse(text).success, reasonRequired)

export const ReasonOptions = z.object({ reason: reasonText })
export const reasonOption = { reason: { type: 'string' } } as const satisfies ParseArgsOptionsConfig
export const reasonHelp = '  --reason text            why, for the audit log; required'

export const helpOption = { help: { type: 'boolean', short: 'h' } } as const satisfies ParseArgsOptionsConfig

/** The streams and variables of the program, so that a test can run it in its own process. */
export interface ProgramContext {
  domains: readonly Domain[]
  variables: Variables
  stdin: Readable
  stdout: Pick<Screen, 'write'>
  /** Progress is drawn only on a terminal. */
  stderr: Screen
}

export interface CommandContext extends Omit<ProgramContext, 'stdout'> {
  /** Prints `text`, or with --json the result as one JSON document. Call it once. */
  print(result: object, text: string): void
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
  /** Runs until a signal, and prints no result. */
  isServer?: boolean
  /** Resolves with the exit code. */
  run(values: Record<string, unknown>, context: CommandContext): Promise<number>
}

export function helpOf({ name, summary, help }: Pick<Command, 'name' | 'summary' | 'help'>): string {
  return `portico ${name}: ${summary}\n\n${help}\n`
}
