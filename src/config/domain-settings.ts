import { z } from 'zod'
import { isRecord } from '../kernel/index.ts'
import { type Settings, schema } from './schema.ts'
import { explainIssue, valueAt } from './values.ts'

export type Tree = Readonly<Record<string, unknown>>

/** Lists are replaced, not merged. An override of null or undefined has no effect. */
export function mergeSettings(base: unknown, override: unknown): unknown {
  if (override === undefined || override === null) return base
  if (!isRecord(base) || !isRecord(override)) return override
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(override)) merged[key] = mergeSettings(base[key], value)
  return merged
}

/** The settings of the gateway on which checks of a domain's settings depend. */
export interface SettingsContext {
  profile: Settings['profile']
  /** The currencies of the deployment. */
  currencies: readonly string[]
}

/** The settings that a domain declares. */
export interface SettingsDeclaration<Schema extends z.ZodType = z.ZodType> {
  /** Schema of the domain's settings. */
  settings?: Schema
  /**
   * Place of the settings in the configuration, such as `money.exchange`, instead of `domains.<name>`. Several domains
   * can have the same place if their settings have different names. Then `settings` must be a `z.strictObject`. Only
   * for domains that `portico()` gets, because the configuration names the other ones.
   */
  settingsKey?: string
  /** Defaults, which the configuration overrides key by key. Lists are replaced. */
  defaults?: Tree
  /** Defaults of one profile, which override `defaults` in the same way. */
  profileDefaults?: Readonly<Partial<Record<SettingsContext['profile'], Tree>>>
  /** Checks that need more than the schema. Returns errors such as `money.exchange.rates: …`. */
  checkSettings?(settings: z.output<Schema>, context: SettingsContext): readonly string[]
  /**
   * Rules against theft and fraud, by setting, for domains with a `settingsKey`. Portico warns and writes an audit entry
   * if production has a value above (`maximum`), below (`minimum`) or other than (`fixed`) its default. `off` is above
   * every number.
   */
  productionRules?: Readonly<Record<string, 'maximum' | 'minimum' | 'fixed'>>
}

export interface SettingsOwner extends SettingsDeclaration {
  name: string
}

interface PlacedOwner extends SettingsOwner {
  settingsKey: string
  settings: z.ZodObject
}

/** The owners outside `domains`. */
export function placedOwners(owners: readonly SettingsOwner[]): PlacedOwner[] {
  return owners.filter(isPlaced)
}

/** Adds the settings of domains to those of the gateway, and reports settings that two of them declare. */
class SchemaBuilder {
  readonly errors: string[] = []
  /** Domains by the path of a setting, or of a section that the domain added. */
  readonly #fields = new Map<string, string>()
  readonly #sections = new Map<string, string>()

  #collide(path: string, { name }: PlacedOwner): void {
    const other = this.#fields.get(path) ?? this.#sections.get(path)
    this.errors.push(
      `${path}: the domain ${name} and ${other ? `the domain ${other}` : 'the gateway'} declare it; rename one`,
    )
  }

  /** Returns `section`, which is at `path`, with the settings of `owner`, which are below it at `rest`. */
  extend(section: z.ZodObject, path: readonly string[], rest: readonly string[], owner: PlacedOwner): z.ZodObject {
    const [key, ...deeper] = rest
    const added: Record<string, z.core.$ZodType> = {}
    if (key === undefined) {
      for (const [name, field] of Object.entries(owner.settings.shape)) {
        const place = [...path, name].join('.')
        if (Object.hasOwn(section.shape, name)) this.#collide(place, owner)
        else added[name] = field
        this.#fields.set(place, this.#fields.get(place) ?? owner.name)
      }
      return section.safeExtend(added)
    }
    const place = [...path, key]
    const name = place.join('.')
    const below = section.shape[key] ?? z.strictObject({})
    if (this.#fields.has(name) || !(below instanceof z.ZodObject)) {
      this.#collide(name, owner)
      return section
    }
    if (!Object.hasOwn(section.shape, key)) this.#sections.set(name, owner.name)
    return section.safeExtend({ [key]: this.extend(below, place, deeper, owner) })
  }
}

/** Returns the schema of the whole configuration, without the settings below `domains`, and the errors of declarations. */
export function schemaWith(owners: readonly SettingsOwner[]): { schema: typeof schema; errors: readonly string[] } {
  const builder = new SchemaBuilder()
  for (const { name, settingsKey, settings } of owners)
    if (settingsKey !== undefined && !(settings instanceof z.ZodObject))
      builder.errors.push(`settingsKey of the domain ${name}: needs settings that are a z.strictObject`)
  const whole = placedOwners(owners).reduce<z.ZodObject>(
    (section, owner) => builder.extend(section, [], owner.settingsKey.split('.'), owner),
    schema,
  )
  // The type hides the settings of domains, which `settingsAt` returns.
  return { schema: whole as typeof schema, errors: builder.errors }
}

/** Without a profile, returns the defaults of all profiles. */
export function defaultsOf({ defaults = {}, profileDefaults = {} }: SettingsOwner, profile?: Settings['profile']) {
  return mergeSettings(defaults, profile && profileDefaults[profile])
}

/** The defaults of the domains outside `domains`, as layers of the configuration. */
export function defaultLayers(owners: readonly SettingsOwner[], profile?: Settings['profile']): unknown[] {
  return placedOwners(owners).map((owner) => nest(owner.settingsKey, defaultsOf(owner, profile)))
}

/** Returns the settings of an owner outside `domains` at its place in a tree, or in the parsed configuration. */
export function settingsAt(tree: unknown, owner: SettingsOwner): unknown {
  if (!isPlaced(owner)) return undefined
  const { shape } = owner.settings
  const section = valueAt(tree, owner.settingsKey)
  return isRecord(section)
    ? Object.fromEntries(Object.entries(section).filter(([name]) => Object.hasOwn(shape, name)))
    : section
}

const currencies = schema.shape.money.shape.currencies

/** Checks the settings whose schema accepts them, so that one run reports all errors. */
export function checkErrors(owners: readonly SettingsOwner[], tree: unknown): string[] {
  const profile = valueAt(tree, 'profile') === 'production' ? 'production' : 'development'
  const known = currencies.safeParse(valueAt(tree, 'money.currencies')).data
  if (!known) return []
  return placedOwners(owners).flatMap((owner) => {
    const parsed = owner.settings.safeParse(settingsAt(tree, owner) ?? {}, { error: explainIssue })
    return parsed.success ? (owner.checkSettings?.(parsed.data, { profile, currencies: known }) ?? []) : []
  })
}

function isPlaced(owner: SettingsOwner): owner is PlacedOwner {
  return typeof owner.settingsKey === 'string' && owner.settings instanceof z.ZodObject
}

function nest(path: string, value: unknown): unknown {
  return path.split('.').reduceRight<unknown>((below, key) => ({ [key]: below }), value)
}
