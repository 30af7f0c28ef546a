import { useEffect, useRef } from 'react'
import Plot from 'uplot'
import { locale } from '../../kit/i18n.ts'

interface Props {
  /** Seconds since the epoch. */
  at: readonly number[]
  /** Null leaves a gap. */
  values: readonly (number | null)[]
  format(value: number): string
}

const height = 120

/** A line over time. Hidden from screen readers, because its caption has the numbers. */
export default function Chart({ at, values, format }: Props) {
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>(undefined)
  useEffect(() => {
    if (!element.current) return
    const own = new Plot(optionsFor(element.current, format), [[], []], element.current)
    plot.current = own
    const sizes = new ResizeObserver(([entry]) => {
      if (entry) own.setSize({ width: entry.contentRect.width, height })
    })
    sizes.observe(element.current)
    const stopThemes = onThemeChange(() => own.redraw())
    return () => {
      sizes.disconnect()
      stopThemes()
      own.destroy()
    }
  }, [format])
  useEffect(() => plot.current?.setData([[...at], [...values]]), [at, values])
  return <div ref={element} className="overview-chart" aria-hidden="true" />
}

function optionsFor(element: HTMLElement, format: Props['format']): Plot.Options {
  // The canvas has no style sheet, so it uses colors of the element around it. They change with the theme.
  const style = getComputedStyle(element)
  const text = () => style.color
  const line = { stroke: () => style.borderTopColor, width: 1 }
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })
  const axis = { stroke: text, font: `11px ${style.fontFamily}`, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 90,
        values: (_plot, splits) => splits.map((second) => time.format(second * 1_000)),
      },
      {
        ...axis,
        grid: line,
        size: 64,
        space: 36,
        values: (_plot, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [{}, { stroke: () => style.outlineColor, width: 2, points: { show: false } }],
  }
}

/** The choice in the menu, or the operating system's. Returns the function that stops it. */
function onThemeChange(react: () => void): () => void {
  const choice = new MutationObserver(react)
  choice.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const system = matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', react)
  return () => {
    choice.disconnect()
    system.removeEventListener('change', react)
  }
}
