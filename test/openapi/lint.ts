import { execFileSync } from 'node:child_process'
import { z } from 'zod'
import { installTools } from '../../scripts/tool.ts'
import { root } from '../harness/settings.ts'

const Problems = z.array(z.object({ ruleId: z.string(), message: z.string() }))

/** Returns what the strictest rules of Redocly find in an OpenAPI document. */
export function lint(document: object): z.infer<typeof Problems> {
  installTools()
  const options = { cwd: root, input: JSON.stringify(document), encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  return Problems.parse(JSON.parse(execFileSync(process.execPath, ['tools/lint-openapi.js'], options)))
}
