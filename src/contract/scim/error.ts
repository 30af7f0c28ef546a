import type { Code } from '../../kernel/index.ts'

/* What the gateway needs of SCIM 2.0 (RFC 7643 and 7644). The domain `provisioning` has the rest. */

export const scimType = 'application/scim+json'

const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** RFC 7644, 3.12. Other codes have no `scimType`. */
const errorTypes: Partial<Record<Code, string>> = {
  'PROVISIONING.NOT_UNIQUE': 'uniqueness',
  'PROVISIONING.INVALID_FILTER': 'invalidFilter',
  'PROVISIONING.INVALID_PATH': 'invalidPath',
  'PROVISIONING.INVALID_SYNTAX': 'invalidSyntax',
  'PROVISIONING.TOO_MANY': 'tooMany',
  'VALIDATION.INVALID_PARAMETER': 'invalidValue',
}

export interface ScimError {
  schemas: string[]
  status: string
  scimType?: string
  detail: string
  /** The refusal code of Portico, which SCIM clients ignore. */
  code: Code
}

export function scimError(code: Code, status: number, detail: string): ScimError {
  const type = errorTypes[code]
  return { schemas: [errorSchema], status: String(status), ...(type && { scimType: type }), detail, code }
}
