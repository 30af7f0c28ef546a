import type { Configuration, UpstreamConfiguration } from './schema.ts'

/** Where a domain is served: where it is placed by its name, else by `default`, else in this process. */
export const placeOf = (
  { backends }: Pick<Configuration, 'backends'>,
  domain: string,
): UpstreamConfiguration | 'in-process' => backends[domain] ?? backends.default ?? 'in-process'
