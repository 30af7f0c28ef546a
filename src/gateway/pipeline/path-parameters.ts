import { pathParameterSchema } from '../../contract/fields.ts'
import { codeForMalformedParam } from '../../contract/policies.ts'
import { type Operation, Refusal } from '../../kernel/index.ts'

const malformed = (operation: Operation, name: string): Refusal =>
  new Refusal(codeForMalformedParam(operation), { field: name, internal: `malformed ${name}` })

/**
 * Returns the path parameters in their declared form, ids in lower case. Throws RESOURCE.NOT_FOUND or
 * VALIDATION.INVALID_PARAMETER, as the operation declares, for a value outside that form.
 */
export const parsePathParameters = (operation: Operation, params: Record<string, string>): Record<string, string> => {
  const parsed: Record<string, string> = {}
  for (const [name, value] of Object.entries(params)) {
    const result = pathParameterSchema(operation, name).safeParse(value)
    if (!result.success) throw malformed(operation, name)
    parsed[name] = result.data
  }
  return parsed
}
