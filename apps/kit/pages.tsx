import { type ComponentType, lazy, Suspense } from 'react'
import { Link, Route, Switch, useLocation, useParams } from 'wouter'
import { Boundary } from './boundary.tsx'
import type { NavigationEntry } from './frame.tsx'
import { permissionName, t } from './i18n.ts'
import { Page } from './page.tsx'
import { useSession } from './session.tsx'
import { Loading } from './states.tsx'

export interface AppPage {
  /** Below the path of the application. `:name` is a parameter, which `useParameter` reads. */
  path: string
  /** Loads the module of the page, whose default export is the component. */
  load(): Promise<{ default: ComponentType }>
  /** Without it, the page is refused, and its entry is hidden. */
  permission?: string
  /** The key of the text of its entry in the navigation. Pages without an entry are reached by links. */
  entry?: string
}

/** Routes to the page of the current path. */
export function Pages({ pages }: { pages: readonly AppPage[] }) {
  return (
    <Switch>
      {pages.map((page) => (
        <Route key={page.path} path={page.path}>
          <Guarded page={page} />
        </Route>
      ))}
      <Route>
        <Page title={t('kit.notFound')}>
          <ToStart />
        </Page>
      </Route>
    </Switch>
  )
}

export function entriesOf(pages: readonly AppPage[]): NavigationEntry[] {
  return pages.flatMap(({ path, permission, entry }) =>
    entry === undefined ? [] : [{ path, label: t(entry), ...(permission !== undefined && { permission }) }],
  )
}

/** A parameter of the path of this page. Throws if the path has none with this name. */
export function useParameter(name: string): string {
  const value = useParams<Record<string, string | undefined>>()[name]
  if (value === undefined) throw new Error(`the path has no parameter ${name}`)
  return value
}

const components = new WeakMap<AppPage, ComponentType>()

function Guarded({ page }: { page: AppPage }) {
  const { permissions } = useSession()
  const [path] = useLocation()
  if (page.permission !== undefined && !permissions.has(page.permission))
    return (
      <Page title={t('kit.notAllowed')}>
        <p>{t('kit.needsPermission', { permission: permissionName(page.permission) })}</p>
        <ToStart />
      </Page>
    )
  const Component = components.get(page) ?? lazy(page.load)
  components.set(page, Component)
  // The frame stays while the page loads.
  return (
    <Boundary key={path}>
      <Suspense fallback={<Loading />}>
        <Component />
      </Suspense>
    </Boundary>
  )
}

function ToStart() {
  return (
    <p>
      <Link href="/">{t('kit.toStart')}</Link>
    </p>
  )
}
