/** An enumeration that is sent as `{code, value, label, description}`: its codes and their numbers. */
export interface CodedFamily<C extends string = string> {
  readonly name: string
  readonly values: Readonly<Record<C, number>>
  readonly codes: readonly C[]
}

export type CodeOf<F extends CodedFamily> = F extends CodedFamily<infer C> ? C : never

/**
 * Declares coded values. Their texts are in the owner's locales under `coded.<name>.<code>`. The setting `codedValues`
 * overrides the numbers.
 */
export function codedFamily<const V extends Record<string, number>>(
  name: string,
  values: V,
): CodedFamily<keyof V & string> {
  return { name, values, codes: Object.keys(values) }
}

export function isCodedFamily(value: unknown): value is CodedFamily {
  return typeof value === 'object' && value !== null && 'codes' in value && 'values' in value
}

export interface CodedValue {
  code: string
  value: number
  label: string
  description: string
}

/* Shared by several domains, and exported by `portico/contract`. */

export const accountPortal = codedFamily('accountPortal', { SYSTEM: 10010101, CONSUMER: 10010104 })
export type AccountPortal = CodeOf<typeof accountPortal>

export const accountStatus = codedFamily('accountStatus', {
  PENDING_APPROVAL: 10010201,
  ACTIVE: 10010202,
  SUSPENDED: 10010203,
  REJECTED: 10010204,
})
export type AccountStatus = CodeOf<typeof accountStatus>

export const workspaceStatus = codedFamily('workspaceStatus', { ACTIVE: 10010304, FROZEN: 10010305 })
export type WorkspaceStatus = CodeOf<typeof workspaceStatus>

export const workspaceKind = codedFamily('workspaceKind', { LIVE: 10050101, SANDBOX: 10050102 })
export type WorkspaceKind = CodeOf<typeof workspaceKind>

export const roleType = codedFamily('roleType', { OWNER: 10010901, CUSTOM: 10010902 })
export type RoleType = CodeOf<typeof roleType>

export const auditOutcome = codedFamily('auditOutcome', { SUCCESS: 10091901, REFUSED: 10091902 })
export type AuditOutcome = CodeOf<typeof auditOutcome>
