import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import { isRecord, keepCallSite, type Operation, type Policy } from '../kernel/index.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]
type IsValid = (...path: string[]) => boolean

/** Whether one path contains the other one. */
const overlaps = (a: Path, b: Path): boolean =>
  Array.from({ length: Math.min(a.length, b.length) }).every((_, index) => String(a[index]) === b[index])

/** Whether no issue is at, above or below a path. Unknown fields make no other field invalid. */
const validityOf = (issues: readonly Issue[]): IsValid => {
  const paths = issues.filter(({ code }) => code !== 'unrecognized_keys').map(({ path }) => path)
  return (...path) => !paths.some((each) => overlaps(each, path))
}

const entriesOf = (value: unknown): [string, unknown][] => (isRecord(value) ? Object.entries(value) : [])

const neutralPolicy: Policy = {
  caller: 'account',
  workspace: 'none',
  permission: null,
  stepUp: false,
  channel: 'none',
  rate: 'general',
  idempotent: false,
  changesRights: false,
}

/** The workspace decides which permissions apply. */
const repairPolicy = (policy: unknown, isValid: IsValid): Policy => ({
  ...neutralPolicy,
  ...Object.fromEntries(entriesOf(policy).filter(([field]) => isValid(field))),
  ...(!isValid('workspace') && { permission: null }),
})

/** Without chains, an operation has no route. */
const neutralFields = { method: 'GET', path: '/', chains: [], summary: '', body: 'none', reply: z.null(), refuses: [] }

const repairOperation = (id: string, given: unknown, isValid: IsValid): Operation => {
  const fields = Object.fromEntries(entriesOf(given).filter(([field]) => isValid(field)))
  const { policy, refuses } = isRecord(given) ? given : {}
  const repaired: object = {
    id,
    ...neutralFields,
    ...fields,
    policy: repairPolicy(policy, (...path) => isValid('policy', ...path)),
    refuses: Array.isArray(refuses) ? refuses.filter((_, index) => isValid('refuses', String(index))) : [],
    ...(!(isValid('method') && isValid('path')) && { chains: [] }),
    // The reply decides whether a body can be raw.
    ...(!isValid('reply') && { body: 'none' }),
  }
  // All fields are valid or neutral.
  const operation = repaired as Operation
  return isRecord(given) ? keepCallSite(given, operation) : operation
}

const actionName = /^[a-z][a-z-]*$/

const repairGroups = (groups: unknown, isValid: IsValid) =>
  Object.fromEntries(
    entriesOf(groups).map(([group, declared]) => {
      if (isValid(group)) return [group, declared]
      const actions: unknown = isRecord(declared) ? declared.actions : declared
      return [group, Array.isArray(actions) ? actions.filter((each) => actionName.test(String(each))) : []]
    }),
  )

/** Keeps the names, to which operations and the configuration refer. */
const repairEntries = (entries: unknown, neutral: unknown, isValid: IsValid) =>
  Object.fromEntries(entriesOf(entries).map(([name, declared]) => [name, isValid(name) ? declared : neutral]))

const keepValid = (value: unknown, isValid: IsValid): unknown => {
  if (Array.isArray(value)) return value.filter((_, index) => isValid(String(index)))
  return Object.fromEntries(entriesOf(value).filter(([name]) => isValid(name)))
}

/** The permissions of broken groups are unknown, so operations may require any. */
const withoutPermissionsOf = (isBroken: (group: string) => boolean, operation: Operation): Operation => {
  const { permission } = operation.policy
  if (permission === null || !isBroken(permission.split(':', 1).join())) return operation
  return keepCallSite(operation, { ...operation, policy: { ...operation.policy, permission: null } })
}

const texts = ['codes', 'permissions', 'codedValues', 'ledger', 'contract']

/** Whether every declaration that needs a text is valid. */
export const areTextsKnown = (issues: readonly Issue[]): boolean => {
  const isValid = validityOf(issues)
  return texts.every((field) => isValid(field))
}

/**
 * Returns a copy of a definition with neutral values instead of the invalid ones. They cause no further errors, so that
 * one run can report the errors of all checks.
 */
export const repairDomain = (given: Record<string, unknown>, issues: readonly Issue[]): Domain => {
  const isValid = validityOf(issues)
  const below =
    (...parent: string[]): IsValid =>
    (...path) =>
      isValid(...parent, ...path)
  const name = typeof given.name === 'string' ? given.name : ''
  const permissions = isRecord(given.permissions) ? given.permissions : {}
  const scopes = ['workspace', 'operator'].map((scope) => [scope, permissions[scope]] as const)
  const isBroken = (group: string): boolean =>
    scopes.some(([scope, groups]) => !isValid('permissions', scope, group) && (!isRecord(groups) || group in groups))
  const operations = Object.fromEntries(
    entriesOf(given.operations).map(([key, operation]) => [
      key,
      withoutPermissionsOf(isBroken, repairOperation(`${name}.${key}`, operation, below('operations', key))),
    ]),
  )
  const handlers = Object.fromEntries(Object.keys(operations).map((key) => [key, () => null]))
  const neutral = { locales: undefined, mails: undefined, migrations: undefined, keyedColumns: undefined }
  const { codedValues, ledger, contract } = given
  const repaired: object = {
    ...given,
    ...Object.fromEntries(Object.entries({ ...neutral, uses: undefined }).filter(([field]) => !isValid(field))),
    ...(!isValid('summary') && { summary: '' }),
    ...(!isValid('settings') && { settings: z.unknown() }),
    // Without operations, every handler would lack one.
    ...(!(isValid('create') && isRecord(given.operations)) && { create: () => ({ handlers }) }),
    name,
    operations,
    permissions: Object.fromEntries(
      scopes.map(([scope, groups]) => [scope, repairGroups(groups, below('permissions', scope))]),
    ),
    rateGroups: repairEntries(given.rateGroups, {}, below('rateGroups')),
    codes: repairEntries(given.codes, { status: 422 }, below('codes')),
    codedValues: keepValid(codedValues, below('codedValues')),
    ledger: Object.fromEntries(
      entriesOf(ledger).map(([kind, declared]) => [kind, keepValid(declared, below('ledger', kind))]),
    ),
    contract: isRecord(contract) ? { ...contract, ...operations } : undefined,
  }
  // All fields are valid or neutral.
  return keepCallSite(given, repaired as Domain)
}
