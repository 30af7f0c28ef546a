import { type Configuration, portalNames } from '../../config/index.ts'
import type { Catalogue } from '../../contract/index.ts'
import { type AdditionalPortal, createReferencePages, type PageOptions, type Sites } from '../../gateway/index.ts'
import type { Portal } from '../../kernel/index.ts'
import { buildOpenApiDocument, catalogueOfPortal } from '../catalogue.ts'
import type { Infrastructure } from '../infrastructure.ts'
import { demoSignIn } from '../seed.ts'

interface ReferenceParts {
  catalogue: Catalogue
  settings: Configuration
  infrastructure: Pick<Infrastructure, 'words' | 'outbox'>
  sites: Sites | null
  additional: readonly AdditionalPortal[]
}

/** Null if they are disabled. */
export function referencePages(
  { catalogue, settings, infrastructure, sites, additional }: ReferenceParts,
  admit: NonNullable<PageOptions['admit']>,
): ReturnType<typeof createReferencePages> | null {
  const { enabled, portal } = settings.reference
  if (!enabled) return null
  const isDevelopment = settings.profile === 'development'
  const build = (isSealed: boolean, of: Portal | null) => {
    const mount = additional.find((each) => each.portal === of)
    const described = of === null ? catalogue : catalogueOfPortal(catalogue, of, mount)
    return buildOpenApiDocument(described, infrastructure.words, { isSealed, isDevelopment, mount: mount ?? null })
  }
  return createReferencePages(build, {
    portal,
    portals: portalNames(settings.portals),
    admit,
    redirectsRoot: isDevelopment && sites?.isEmpty === true,
    demo: isDevelopment ? demoSignIn(settings, infrastructure.outbox) : null,
  })
}
