import type { LoadedDomain } from '../../api/domain.ts'
import type { Catalogue } from '../../contract/index.ts'
import type { DeclarationError } from '../../kernel/index.ts'

/** The reactions that would never run. `owners` are the enabled domains by a unique name. */
export function reactionErrors(
  owners: ReadonlyMap<string, Pick<LoadedDomain, 'on'>>,
  { events }: Pick<Catalogue, 'events'>,
): DeclarationError[] {
  return [...owners].flatMap(([owner, { on = {} }]) =>
    Object.keys(on)
      .filter((type) => !events.has(type))
      .map((type) => ({
        owner,
        message: `on.${type}: no domain that is on declares this event; correct the type, or switch its domain on`,
      })),
  )
}

/** Returns the catalogue whose events name the domains that react to them. */
export function withReactions(catalogue: Catalogue, domains: readonly Pick<LoadedDomain, 'name' | 'on'>[]): Catalogue {
  const reactingTo = (type: string): string[] =>
    domains.filter(({ on = {} }) => Object.hasOwn(on, type)).map(({ name }) => name)
  const events = [...catalogue.events].map(([type, row]) => [type, { ...row, reactions: reactingTo(type) }] as const)
  return { ...catalogue, events: new Map(events) }
}
