import { localeDirectories } from '../../src/compose/catalogue.ts'
import { codedFamilies, codes, statusOf } from '../../src/contract/index.ts'
import { observedErrors } from '../../src/contract/observed-errors.ts'
import { type Code, fallbackLocale } from '../../src/kernel/index.ts'
import { createWords } from '../../src/platform/i18n/index.ts'
import { cell, generatedFrom, table } from './markdown.ts'
import { refusalTexts } from './refusal-texts.ts'

const words = createWords({ directories: localeDirectories, codes, families: codedFamilies })

/** A family is the part of a code before the dot. */
const families = [...new Set(codes.map((code) => code.slice(0, code.indexOf('.'))))].sort()

const conditions = {
  'no-query': 'a call without query parameters',
  'no-channel-session': 'a call whose headers name no channel session',
} as const

const intro = `${generatedFrom('the contracts, the locales and scripts/reference/refusal-texts.ts')}# Refusal codes

Every error response has the form of the envelope, with \`success: false\` and one of these codes:

\`\`\`json
{ "version": "2.0.0", "timestamp": 1795476507022, "success": false, "code": "ACCESS.TOKEN_MISSING", "message": "authentication token is required", "data": null }
\`\`\`

- \`code\` is for programs.
- \`message\` is for people, in the language of the request. It can name the invalid field.
- The code determines the HTTP status. Every 401 carries \`WWW-Authenticate: Bearer\`, and \`DPoP\` after an invalid proof.
- Under \`/web/v1/users/self\` codes are numbers: the status followed by 0, such as \`4010\`.

The catalogue in \`/openapi.json\` lists the codes of each operation. Requests that the HTTP parser rejects get a plain status without
an envelope: 400, 408, 413, 417, 431 or 505.
`

export function refusalCodeReference(): string {
  return [intro, ...families.map(sectionOf), documented500()].join('\n')
}

function sectionOf(family: string): string {
  const rows = codes.filter((code) => code.startsWith(`${family}.`)).map(rowOf)
  return `## ${family}\n\n${table(['code', 'status', 'message', 'cause', 'what to do'], rows)}\n`
}

function rowOf(code: Code): string[] {
  const { cause, action } = refusalTexts[code]
  const sentence = words.refusal(code, fallbackLocale)
  return [`\`${code}\``, String(statusOf(code)), cell(sentence), cell(cause), cell(action)]
}

function documented500(): string {
  const rows = [...observedErrors].map(([id, { condition, code }]) => [
    `\`${id}\``,
    conditions[condition],
    `\`${code}\``,
  ])
  return `## Documented 500 responses

Two invalid calls get 500 by definition of the interface. They are not faults. \`compatibility.observedErrors: false\` in a portal's
configuration turns them into 400 \`VALIDATION.INVALID_PARAMETER\`.

${table(['operation', 'condition', 'code'], rows)}
`
}
