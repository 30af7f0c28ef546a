import { fileURLToPath } from 'node:url'
import type { LoadedDomain } from '../api/domain.ts'
import { inPackage, packageVersion } from '../config/env.ts'
import { type Configuration, placeOf } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import type { Permissions } from '../contract/permissions.ts'
import { domainOf, fallbackLocale, type Words } from '../kernel/index.ts'
import { type JsonObject, openApiDocument, readExamples } from '../openapi/index.ts'
import { createWords } from '../platform/i18n/index.ts'
import { type MailTexts, readMailTexts } from '../platform/mail/index.ts'
import { buildWith } from './extensions.ts'

/** Returns the keys of the texts that a document must contain: those of its codes and permissions. */
const keysOfDocument = ({ isRemote, contract = {} }: LoadedDomain): string[] => {
  if (!isRemote) return []
  const { codes = {}, permissions = {} }: { codes?: object; permissions?: Permissions } = contract
  return [
    ...Object.keys(codes).map((code) => `refusal.${code}`),
    ...[permissions.workspace, permissions.operator].flatMap((groups = {}) =>
      Object.entries(groups).flatMap(([group, { actions }]) =>
        actions.flatMap((action) => [
          `permission.${group}:${action}.name`,
          `permission.${group}:${action}.description`,
        ]),
      ),
    ),
  ]
}

/**
 * Returns the texts of Portico and of the extensions. `codedOverrides` are the numbers that the configuration replaces.
 */
export const wordsOf = (
  { codes, codedFamilies }: Catalogue,
  domains: readonly LoadedDomain[],
  codedOverrides: Configuration['codedValues'] = {},
): Words =>
  buildWith(domains, (each) =>
    createWords({
      directory: inPackage('config/locales'),
      requiredKeys: each.flatMap(keysOfDocument),
      extensionTexts: each.flatMap(({ texts }) => (texts ? [texts] : [])),
      extensionDirectories: each.flatMap(({ locales }) => (locales ? [fileURLToPath(locales)] : [])),
      codes,
      families: codedFamilies,
      codedOverrides,
    }),
  )

/**
 * Returns the texts of the mails of Portico and of the extensions. Rejects with all errors, each with its file and
 * field.
 */
export const mailTextsOf = (domains: readonly LoadedDomain[]): Promise<MailTexts> =>
  readMailTexts(
    inPackage('config/mail'),
    domains.flatMap(({ name, mails }) =>
      mails ? [{ domain: name, directory: fileURLToPath(mails.directory), templates: mails.templates }] : [],
    ),
  )

/** Returns the OpenAPI document of this build, with the examples that the end-to-end tests recorded. */
export const buildOpenApiDocument = (catalogue: Catalogue, words: Words): Promise<JsonObject> =>
  openApiDocument(catalogue, {
    version: packageVersion(),
    examples: readExamples(inPackage('docs/examples.json')),
    sentence: (code) => words.refusal(code, fallbackLocale),
  })

/** Returns the operations among `unserved` that no upstream serves either. They respond with 501. */
export const findUnservedOperations = (
  { isRoutable }: Pick<Catalogue, 'isRoutable'>,
  unserved: readonly string[],
  settings: Pick<Configuration, 'backends'>,
): string[] => unserved.filter((id) => !isRoutable(domainOf(id)) || placeOf(settings, domainOf(id)) === 'in-process')
