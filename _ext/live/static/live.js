// Make the cells of a page editable, and run them on Pyodide in a worker. Nothing is fetched before the reader asks.
(() => {
  // The worker, which loads this same file.
  function python() {
    let ready  // becomes pyodide and the function that runs a cell
    let last = Promise.resolve()
    async function start(address, files) {
      new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0))  // throws where it is forbidden
      importScripts(address + "pyodide.js")
      // A fetch of Pyodide's own that fails is reported here alone.
      const failed = new Promise((_, reject) => { self.onunhandledrejection = ({reason}) => reject(reason) })
      const pyodide = await Promise.race([failed, loadPyodide({indexURL: address})])
      postMessage({step: "Fetching IPython, NumPy and matplotlib …"})
      await pyodide.loadPackage(["ipython", "numpy", "matplotlib"])
      for (const [name, text] of Object.entries(files)) {
        const path = `/home/pyodide/${name}`  // where Python starts
        pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")))
        pyodide.FS.writeFile(path, text)
      }
      return {pyodide, runCell: pyodide.pyimport("run_cell").run_cell}
    }
    async function answer({address, files, source, number}) {
      try {
        ready ??= start(address, files)
        const {pyodide, runCell} = await ready
        if (source === undefined) return postMessage({})
        await pyodide.loadPackagesFromImports(source, {
          messageCallback: text => {
            if (text.startsWith("Loading ")) postMessage({step: text.replace("Loading", "Fetching")})
          },
          errorCallback: () => {}})  // the import says that nothing was found
        const report = text => postMessage({number, soFar: JSON.parse(text)})
        postMessage(JSON.parse(await runCell(source, number, report)))
      } catch (error) {
        postMessage({error: String(error).trim().split("\n").pop()})
      }
    }
    onmessage = ({data}) => { last = last.then(() => answer(data)) }  // one after another, also where a cell awaits
  }
  if (!self.document) return python()

  const bar = document.querySelector(".live[data-pyodide]")
  const [first, status] = [bar.querySelector("button"), bar.querySelector("[role=status]")]
  const script = document.currentScript.src
  const files = new URL("inside_transformer.js", script)
  const pyodide = new URL(bar.dataset.pyodide, new URL("..", script))
  let worker, cells, refused
  let waiting = []  // for the answers of the worker, which come in order

  const say = text => { status.textContent = text }

  const ask = message => new Promise(resolve => {
    waiting.push(resolve)
    worker.postMessage(message)
  })

  const load = address => new Promise((resolve, reject) => {
    const script = document.createElement("script")
    Object.assign(script, {src: address, onload: resolve, onerror: () => reject(`no ${address}`)})
    document.head.append(script)
  })

  const button = (text, onclick, ariaLabel = text) =>
    Object.assign(document.createElement("button"), {type: "button", textContent: text, onclick, ariaLabel})

  // Start Python, and say why not where it does not start.
  async function start() {
    worker?.terminate()
    waiting = []
    refused = ""
    first.ariaDisabled = "true"  // and not disabled, which would take the focus away
    say("Fetching Python …")
    try {
      if (typeof INSIDE_TRANSFORMER == "undefined") await load(files)
      // Browsers load no worker from a page on a disk, and a site may allow none that is made from text.
      worker = new Worker(location.protocol != "file:" ? script :
        URL.createObjectURL(new Blob([`(${python})()`], {type: "text/javascript"})))
      worker.onmessage = ({data}) => {
        if (data.step) say(data.step)
        else if (data.soFar) show(cells[data.number - 1], data.soFar)
        else waiting.shift()(data)
      }
      const broken = new Promise(resolve => { worker.onerror = () => resolve({error: "no worker"}) })
      const {error} = await Promise.race([broken, ask({address: pyodide.href, files: INSIDE_TRANSFORMER})])
      if (error) throw error
      return true
    } catch (error) {
      if (String(error).startsWith("CompileError")) refused = "WebAssembly"
      say(refused
        ? `The security policy of this site forbids what Python needs in a page (${refused}). The page reads as ` +
          "before, and the chapter runs on your own machine."
        : `Python could not be fetched from ${pyodide.host || "this disk"}. Is there a network, and may this page ` +
          `use it? The page reads as before, and you may try again. (${error})`)
    } finally {
      first.ariaDisabled = null
    }
  }

  async function begin() {
    if (!("WebAssembly" in window)) return say("This browser is too old to run Python. The page reads as before.")
    if (first.ariaDisabled || !await start()) return
    cells = [...document.querySelectorAll("div.cell.container")].map(edit)
    Object.assign(first, {textContent: "Run all", onclick: () => run(cells)})
    first.nextElementSibling.replaceWith(button("Restart Python", restart))
    // What gets the focus is scrolled to below the bar, however many lines the bar has.
    new ResizeObserver(() => {
      document.documentElement.style.scrollPaddingTop = `calc(${getComputedStyle(bar).top} + ${bar.offsetHeight + 8}px)`
    }).observe(bar)
    run(cells)
  }

  async function restart() {
    for (const {element} of cells) {
      element.ariaBusy = null
      const output = element.querySelector(".cell_output:not(:empty, :has(> .live-stale))")
      output?.prepend(Object.assign(document.createElement("p"), {
        className: "live-stale", textContent: "This is from before the restart. Run the cell again."}))
    }
    if (await start()) say("Python has started anew and knows nothing yet: run all.")
  }

  // Make a cell editable, with its buttons below its code.
  function edit(element, i) {
    const shown = element.querySelector(".cell_input .highlight")
    const code = document.createElement("textarea")
    const fit = () => { code.rows = code.value.split("\n").length }
    const change = () => {
      fit()
      onbeforeunload = event => event.preventDefault()  // the browser asks before what was written is gone
    }
    const exercise = element.closest("section").querySelector(":scope > h3")?.firstChild.textContent
    const cell = {element, code, number: i + 1, name: `cell ${i + 1}${exercise ? `, ${exercise}` : ""}`}
    Object.assign(code, {
      value: shown.querySelector("pre").textContent.trimEnd(), ariaLabel: `Code of ${cell.name}`,
      spellcheck: false, autocapitalize: "off", wrap: "off", oninput: change})
    fit()
    code.onkeydown = event => {
      if (event.key != "Enter" || event.isComposing) return
      event.preventDefault()
      if (event.shiftKey || event.ctrlKey || event.metaKey) return run([cell])
      const line = code.value.slice(0, code.selectionStart).split("\n").pop()
      const indent = line.match(/^ */)[0] + (line.endsWith(":") ? "    " : "")
      document.execCommand("insertText", false, "\n" + indent)  // nothing else can be undone
    }
    const row = document.createElement("div")
    row.className = "live-run"
    row.append(`Cell ${cell.number} `, button("Run", () => run([cell]), `Run cell ${cell.number}`),
               button("Run from here", () => run(cells.slice(i)), `Run from here, cell ${cell.number} and those below`))
    shown.replaceChildren(code, row)
    return cell
  }

  // Run cells in order, up to the first that fails.
  async function run(list) {
    let text
    say("Running …")
    for (const cell of list) {
      cell.element.ariaBusy = "true"
      const answer = await ask({source: cell.code.value, number: cell.number})
      cell.element.ariaBusy = null
      if (answer.error) return say(`Python itself has stopped. Restart it. (${answer.error})`)
      show(cell, answer.outputs)
      text = answer.outputs.map(([kind, content]) => kind == "html" ? "" : content).join("").trim()
      if (answer.failed) {
        open(cell)
        cell.element.scrollIntoView({block: "nearest"})
        return say(`Cell ${cell.number} stops: ${answer.failed}`)
      }
    }
    if (list.length > 1) return say(`Ran ${list.length} cells. Change one and press Shift and Enter, or Run from here.`)
    open(list[0])
    say(`Cell ${list[0].number} has run. ${text.length > 200 ? text.slice(0, 200) + " …" : text}`)
  }

  // Unfold the output of a cell.
  function open({element}) {
    element.querySelectorAll("details:has(> .cell_output)").forEach(fold => { fold.open = true })
  }

  // Show what a cell printed and drew, in order.
  function show({element, name}, outputs) {
    let output = element.querySelector(".cell_output")
    if (!output) {
      output = Object.assign(document.createElement("div"), {className: "cell_output docutils container"})
      element.append(output)
    }
    Object.assign(output, {role: "group", ariaLabel: `Output of ${name}`})
    output.replaceChildren(...outputs.map(([kind, content]) => {
      const part = document.createElement("div")
      part.className = kind == "html" ? "output text_html" : "output stream"
      part.innerHTML = kind == "html" ? content : '<div class="highlight"><pre></pre></div>'
      if (kind != "html") part.querySelector("pre").textContent = content
      return part
    }))
    for (const printed of output.querySelectorAll(".stream pre"))
      if (printed.scrollWidth > printed.clientWidth || printed.scrollHeight > printed.clientHeight)
        printed.tabIndex = 0  // the keyboard scrolls it
  }

  document.addEventListener("securitypolicyviolation", event => { refused = event.effectiveDirective })
  first.onclick = begin
})()
