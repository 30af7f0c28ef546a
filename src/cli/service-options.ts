import { type Configuration, upstreamSettings } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { UsageError } from './command.ts'

/** Returns each name once. Throws a UsageError for a domain that no service can serve. */
export function parseDomains(
  { routableDomains }: Pick<Catalogue, 'routableDomains'>,
  names: readonly string[],
): string[] {
  for (const name of names)
    if (!routableDomains.includes(name))
      throw new UsageError(
        `--domain: no service can serve '${name}'. The domains are ${routableDomains.toSorted().join(', ')}`,
      )
  return [...new Set(names)]
}

const anyUrl = 'http://127.0.0.1'

/** Default: the audience of the domains' backend. Throws a UsageError if they have several. */
export function audienceOf(
  settings: Pick<Configuration, 'backends'>,
  names: readonly string[],
  audience: string | undefined,
): string {
  if (audience !== undefined) return audience
  const audiences = new Set(names.map((name) => upstreamSettings(settings, name, { url: anyUrl }).audience))
  const [only = ''] = audiences
  if (audiences.size > 1)
    throw new UsageError(
      `--domain: ${names.join(', ')} have different audiences in \`backends\`: run the command for each service`,
    )
  return only
}
