import { invalid } from '../../kernel/index.ts'

const decode = (text: string): string => {
  try {
    const value = decodeURIComponent(text.replaceAll('+', ' '))
    if (!value.includes('\0')) return value
  } catch {
    // Undecodable text is rejected below, like text with NUL.
  }
  throw invalid('query', 'undecodable query')
}

/** Returns the query parameters as plain strings. Throws for repeated, nested (`a[b]`) or oversized names. */
export function parseQuery(query: string): Record<string, string> {
  const parameters: Record<string, string> = {}
  if (query === '') return parameters
  for (const part of query.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decode(at < 0 ? part : part.slice(0, at))
    if (!/^\w{1,64}$/.test(name) || name in parameters) throw invalid('query', 'repeated or improper parameter')
    parameters[name] = decode(at < 0 ? '' : part.slice(at + 1))
  }
  return parameters
}
