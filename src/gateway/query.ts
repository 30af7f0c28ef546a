import { invalid } from '../kernel/index.ts'

const decode = (text: string): string => {
  try {
    const value = decodeURIComponent(text.replaceAll('+', ' '))
    if (!value.includes('\0')) return value
  } catch {
    // An undecodable text is refused below, like one that holds NUL.
  }
  throw invalid('query', 'undecodable query')
}

/** Query parameters as plain strings. A repeated one, a nested one (`a[b]`) or a poisonous one is refused, never merged. */
export const parseQuery = (query: string): Record<string, string> => {
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
