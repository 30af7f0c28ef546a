/*
 * Writes the generated pages of docs/reference. A test compares each committed page with what this writes.
 */
import { writeFileSync } from 'node:fs'
import { configurationReference } from './reference/configuration.ts'
import { environmentReference } from './reference/environment.ts'
import { limitsReference } from './reference/limits.ts'
import { refusalCodeReference } from './reference/refusal-codes.ts'

/** Every generated page by its path. */
export const generatedPages: Readonly<Record<string, () => string>> = {
  'docs/reference/configuration.md': configurationReference,
  'docs/reference/environment.md': environmentReference,
  'docs/reference/limits.md': limitsReference,
  'docs/reference/refusal-codes.md': refusalCodeReference,
}

if (import.meta.main)
  for (const [path, render] of Object.entries(generatedPages))
    writeFileSync(new URL(`../${path}`, import.meta.url), render())
