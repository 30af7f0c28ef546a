import { type ReactNode, useEffect } from 'react'

interface Props {
  title: string
  /** Beside the title, such as the main button of the page. */
  actions?: ReactNode
  children: ReactNode
}

/** A page with its heading, which is also the title of the document. */
export function Page({ title, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Portico`
  }, [title])
  return (
    <div className="page">
      <div className="page-head">
        <h1>{title}</h1>
        {actions && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** A part of a page with a heading. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="section">
      <h2>{title}</h2>
      {children}
    </section>
  )
}
