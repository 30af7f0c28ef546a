import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import { portNames } from '../api/ports.ts'
import { explainIssue } from '../config/index.ts'
import { member } from '../contract/policies.ts'
import { isRecord, keepCallSite, type Operation, type Policy } from '../kernel/index.ts'
import { Actions, Definition } from './definition.ts'

type Path = readonly PropertyKey[]

const neutralPolicy: Policy = { ...member, channel: 'none', workspace: 'none', permission: null }

/** Without chains, an operation has no route. */
const neutralFields = { method: 'GET', path: '/', chains: [], summary: '', body: 'none', reply: z.null(), refuses: [] }

/** The valid parts of an invalid definition, with neutral values for the others, which cause no further errors. */
class ValidParts {
  readonly #given: Record<string, unknown>
  readonly #invalid: readonly Path[]

  constructor(given: Record<string, unknown>, issues: readonly z.core.$ZodIssue[]) {
    this.#given = given
    // Unknown fields make no other field invalid.
    this.#invalid = issues.filter(({ code }) => code !== 'unrecognized_keys').map(({ path }) => path)
  }

  /** Whether no issue is at, above or below a path. */
  has(...path: string[]): boolean {
    return !this.#invalid.some((each) => overlaps(each, path))
  }

  #all(...path: string[]): [string, unknown][] {
    let part: unknown = this.#given
    for (const name of path) part = isRecord(part) ? part[name] : undefined
    return entriesOf(part)
  }

  #valid(...path: string[]): object {
    return Object.fromEntries(this.#all(...path).filter(([name]) => this.has(...path, name)))
  }

  /** Keeps the names, to which operations, texts and the configuration refer. */
  #named(neutral: (declared: unknown) => unknown, ...path: string[]): object {
    return Object.fromEntries(
      this.#all(...path).map(([name, declared]) => [name, this.has(...path, name) ? declared : neutral(declared)]),
    )
  }

  /** A permission without a workspace, or of a broken group, is unknown. */
  #isPermissionKnown(key: string, permission: unknown): boolean {
    const group = typeof permission === 'string' ? permission.split(':', 1).join() : ''
    return (
      this.has('operations', key, 'policy', 'workspace') &&
      ['workspace', 'operator'].every((scope) => this.has('permissions', scope, group))
    )
  }

  #operation(name: string, key: string, given: unknown): Operation {
    const place = ['operations', key]
    const policy: Policy = { ...neutralPolicy, ...this.#valid(...place, 'policy') }
    const operation: object = {
      ...neutralFields,
      id: `${name}.${key}`,
      ...this.#valid(...place),
      policy: { ...policy, permission: this.#isPermissionKnown(key, policy.permission) ? policy.permission : null },
      refuses: Object.values(this.#valid(...place, 'refuses')),
      ...(!(this.has(...place, 'method') && this.has(...place, 'path')) && { chains: [] }),
      // The reply decides whether a body can be raw.
      ...(!this.has(...place, 'reply') && { body: 'none' }),
    }
    return keepCallSite(isRecord(given) ? given : operation, operation as Operation)
  }

  toDomain(): Domain {
    const { name: named, contract, operations: declared, settings } = this.#given
    const name = typeof named === 'string' ? named : ''
    const operations = Object.fromEntries(
      this.#all('operations').map(([key, given]) => [key, this.#operation(name, key, given)]),
    )
    const handlers = Object.fromEntries(Object.keys(operations).map((key) => [key, () => null]))
    const domain: object = {
      summary: '',
      ...this.#valid(),
      name,
      operations,
      permissions: {
        workspace: this.#named(validActions, 'permissions', 'workspace'),
        operator: this.#named(validActions, 'permissions', 'operator'),
      },
      rateGroups: this.#named(() => ({}), 'rateGroups'),
      codes: this.#named(() => ({ status: 422 }), 'codes'),
      codedValues: this.#valid('codedValues'),
      ledger: Object.fromEntries(
        this.#all('ledger').map(([kind, all]) => {
          const valid = this.#valid('ledger', kind)
          return [kind, Array.isArray(all) ? Object.values(valid) : valid]
        }),
      ),
      contract: isRecord(contract) ? { ...contract, ...operations } : undefined,
      settings: this.has('settings') ? settings : z.unknown(),
      ...(!this.has('needs') && { needs: portNames }),
      // Without operations, every handler would lack one.
      ...(!(this.has('create') && isRecord(declared)) && { create: () => ({ handlers }) }),
    }
    return keepCallSite(this.#given, domain as Domain)
  }
}

export interface Shape {
  /** Undefined if the module does not export an object. The name can be empty. */
  domain: Domain | undefined
  errors: readonly string[]
  isNamed: boolean
  /** Whether every declaration that needs a text is valid. */
  areTextsKnown: boolean
}

const withTexts = ['codes', 'permissions', 'codedValues', 'ledger', 'ownerNotices', 'contract']

/** The first phase: the fields of a definition, without their meaning. */
export function readShape(exported: unknown): Shape {
  const issues = Definition.safeParse(exported, { error: explainIssue }).error?.issues ?? []
  const errors = issues.map(({ path, message }) => `${path.join('.') || 'default export'}: ${message}`)
  if (!isRecord(exported)) return { domain: undefined, errors, isNamed: false, areTextsKnown: false }
  const parts = new ValidParts(exported, issues)
  return {
    // The schema has checked each field. The cast adds the types that derive from `operations`.
    domain: issues.length === 0 ? (exported as unknown as Domain) : parts.toDomain(),
    errors,
    isNamed: parts.has('name'),
    areTextsKnown: withTexts.every((field) => parts.has(field)),
  }
}

/** Whether one path contains the other one. */
function overlaps(a: Path, b: Path): boolean {
  return Array.from({ length: Math.min(a.length, b.length) }).every((_, index) => String(a[index]) === b[index])
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function validActions(group: unknown): string[] {
  return Actions.safeParse(isRecord(group) ? group.actions : group).data ?? []
}
