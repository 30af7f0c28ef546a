const quoted = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

/** An array as text (PostgreSQL documentation, "Array Input and Output Syntax"). */
const arrayText = (values: readonly unknown[]): string => `{${values.map(elementText).join(',')}}`

const elementText = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return arrayText(value)
  if (ArrayBuffer.isView(value)) return quoted(`\\x${bytesOf(value).toString('hex')}`)
  return quoted(String(wireValue(value)))
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/**
 * A parameter in the wire format, the same as node-postgres sends: text, which PostgreSQL converts to the parameter's
 * type, or bytes unchanged.
 */
export const wireValue = (value: unknown): string | ArrayBufferView | null => {
  if (value === null || value === undefined) return null
  if (ArrayBuffer.isView(value)) return value
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return arrayText(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
