import { type ComponentType, lazy } from 'react'
import { Route } from 'wouter'
import type { AppPage } from './pages.tsx'

/** Routes for a `Switch`, which looks only at its own children. */
export function Visitors(pages: readonly AppPage[]) {
  return pages.map((page) => <Route key={page.path} path={page.path} component={componentOf(page)} />)
}

/** A new component on each render would lose the state of the page. */
const components = new WeakMap<AppPage, ComponentType>()

function componentOf(page: AppPage): ComponentType {
  const component = components.get(page) ?? lazy(page.load)
  components.set(page, component)
  return component
}
