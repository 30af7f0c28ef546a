import type { replacements } from './replacements.ts'

interface Check {
  /** Relative to this file. */
  module: string
  /** The functions of the module that replacements.ts replaces. */
  names: readonly (keyof typeof replacements)[]
}

const stages = '../../../src/gateway/pipeline/stages'

/** The checks that `without-checks` removes, one per gateway. */
export const checks = {
  'access-code': { module: `${stages}/access-code.ts`, names: ['accessCodeStage'] },
  'client-address': { module: `${stages}/request-headers.ts`, names: ['edgeStage'] },
  'required-headers': { module: `${stages}/request-headers.ts`, names: ['requiredHeadersStage'] },
  'client-hash': { module: `${stages}/request-headers.ts`, names: ['clientHashStage'] },
  limits: { module: `${stages}/limits.ts`, names: ['addressGuardStage', 'limitsStage'] },
  token: { module: `${stages}/access-control.ts`, names: ['authenticateStage'] },
  permission: { module: `${stages}/access-control.ts`, names: ['workspaceStage', 'permissionStage'] },
  input: { module: `${stages}/input.ts`, names: ['validateStage'] },
  'call-assertion': { module: '../../../src/backends/call-assertion.ts', names: ['createAssertionCache'] },
  'reply-schema': { module: '../../../src/backends/reply-text.ts', names: ['replyText'] },
  'security-headers': {
    module: '../../../src/gateway/http/security-headers.ts',
    names: ['buildSecurityHeaders'],
  },
  'log-line': { module: '../../../src/gateway/observability/request-log.ts', names: ['createRequestLog'] },
} as const satisfies Record<string, Check>

export type CheckName = keyof typeof checks

export function isCheckName(name: string): name is CheckName {
  return Object.hasOwn(checks, name)
}
export const checkNames: readonly CheckName[] = Object.keys(checks).filter(isCheckName)

export function moduleOf(name: CheckName): string {
  return import.meta.resolve(checks[name].module)
}

const replacementFile = import.meta.resolve('./replacements.ts')

/** A function declaration can be assigned to. A constant has to become a variable. */
function makeAssignable(source: string, name: string): string {
  const declaration = new RegExp(`^(export )?(const|function) (?=${name}\\b)`, 'gm')
  const found = source.match(declaration)?.length ?? 0
  if (found !== 1) throw new Error(`${name} is declared ${found} times instead of once`)
  return source.replace(declaration, (text: string) => text.replace('const', 'let'))
}

/** Returns the source of the check's module without the check. Throws if the source does not declare its functions. */
export function removeCheck(source: string, check: CheckName): string {
  const { names }: Check = checks[check]
  const lines = names.map((name) => `${name} = replacements.${name}(${name})\n`)
  return [
    names.reduce(makeAssignable, source),
    `import { replacements } from ${JSON.stringify(replacementFile)}\n`,
    ...lines,
  ].join('')
}
