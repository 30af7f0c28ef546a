/*
 * What the renderer leaves out for whoever reads the page with a screen reader or without a mouse: names of its
 * controls, headings without a gap between their levels, and one control to a line.
 */
const named = {
  '#servers': 'Server',
  '.operation-filter-input': 'Filter by tag or path',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
  '.modal-ux': 'Available authorizations',
  '.close-modal': 'Close',
}

const tell = () => {
  for (const [selector, name] of Object.entries(named))
    for (const element of document.querySelectorAll(`${selector}:not([aria-label])`))
      element.setAttribute('aria-label', name)
  for (const field of document.querySelectorAll('[data-param-name] select:not([aria-label])'))
    field.setAttribute('aria-label', field.closest('[data-param-name]').dataset.paramName)
  // Said aloud it would be another button than the one to be seen.
  for (const button of document.querySelectorAll('.auth-btn-wrapper [aria-label]')) button.removeAttribute('aria-label')
  for (const heading of document.querySelectorAll(':is(h3, h4, h5):not([aria-level])'))
    heading.setAttribute('aria-level', String(Number(heading.tagName.slice(1)) - 1))
  for (const filter of document.querySelectorAll('.filter-container:not([role])')) filter.setAttribute('role', 'search')
  for (const button of document.querySelectorAll('.expand-operation:not([aria-label])'))
    button.setAttribute('aria-label', button.closest('.opblock-tag').dataset.tag)
}

new MutationObserver(tell).observe(document.getElementById('reference'), { childList: true, subtree: true })

/** A line that opens is a button; without its own link, which led where the button leads, it is one control. */
export const accessible = ({ React }) => ({
  wrapComponents: {
    OperationSummaryPath: (Path) => (props) =>
      React.createElement(Path, { ...props, operationProps: props.operationProps.set('isDeepLinkingEnabled', false) }),
  },
})
