const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/Editor-C7_So6Mm.js","assets/index-BbrERRVc.js","assets/index-aGnyoTRr.css","assets/Editor-Rvcaicbw.css"])))=>i.map(i=>d[i]);
import{T as k,g as e,V as p,U as je,a2 as $e,a3 as Ie,D as L,x as K,b as o,p as Pe,a as Ae,k as g,u as E,s,j as n,E as Ee,e as me,a7 as Te,y as Z,t as X,h as b,o as A,v as ee,a8 as Se,a4 as ge,Y as Ve,a9 as _e,R as be,aa as Ce,ab as Oe,a0 as ve,a1 as ke,_ as ue,X as Re,B as pe,H as Ne,ac as De,ad as Ke,L as we}from"./index-BbrERRVc.js";import{P as Je}from"./PageHead-my8KKrA5.js";import{c as Ue,a as xe}from"./number-BN7CH9Pw.js";import{P as Me}from"./Planner-2-2Pj9Ae.js";import{C as Ye}from"./CopyAs-CCwlGYuO.js";import{P as ye}from"./Panel-CIvtHyIb.js";import"./Segments-BJw9gQKQ.js";const qe=250;class Fe{#a=k([]);get problems(){return e(this.#a)}set problems(a){p(this.#a,a)}#r=k();get valid(){return e(this.#r)}set valid(a){p(this.#r,a)}#s=k(!1);get isValid(){return e(this.#s)}set isValid(a){p(this.#s,a,!0)}#i=k(!1);get checking(){return e(this.#i)}set checking(a){p(this.#i,a,!0)}#o=k();get error(){return e(this.#o)}set error(a){p(this.#o,a)}#n=k(0);get checkedAt(){return e(this.#n)}set checkedAt(a){p(this.#n,a,!0)}#e;#t=0;check(a){clearTimeout(this.#t),this.#e?.abort(),this.isValid=!1,this.checking=!0,this.#t=window.setTimeout(()=>void this.#d(a),qe)}async#d(a){const i=this.#e=new AbortController;try{const r=await je("post","/api/v1/check",{json:{file:a},signal:i.signal,timeoutMs:6e4});if(i.signal.aborted)return;this.#l([],void 0),this.valid=r,this.isValid=!0}catch(r){if(i.signal.aborted)return;const _=$e(r),v=_ instanceof Ie?_.problem.problems??[]:[];this.#l(v,v.length>0?void 0:_)}}#l(a,i){this.problems=a,this.error=i,this.checking=!1,this.checkedAt=Date.now()}stop(){clearTimeout(this.#t),this.#e?.abort()}}const fe=[{id:"capitals",title:"Experiment",text:`# Asks a model for capitals. Start the mock model first: windrow mock model
# Import the rows: windrow datasets import examples/capitals/capitals.jsonl
kind: experiment
name: capitals
dataset: { name: capitals }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
concurrency: 32
`},{id:"gate",title:"Experiment with quality gates",text:`kind: experiment
name: capitals-gate
dataset: { name: capitals }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
trials: 3
gates:
  - exact.mean >= 0.9
  - errors < 1%
  - latency.p90 < 2s
concurrency: 32
`},{id:"operation",title:"Operation in waves",text:`# Start the mock Kafka Connect first: windrow mock connect --connectors 200
kind: operation
name: bulk-config
targets: { select: "orders-*" }
action:
  kafka-connect:
    url: http://127.0.0.1:8083/east
    do: change_config
    set: { tasks.max: "2" }
strategy:
  canary: 5
  wave: 25
  approval: after_first
  max_failed: 10
  on_failure: rollback
concurrency: 32
`},{id:"ingest",title:"Ingest from an API",text:`# Start the mock API first: windrow mock source
kind: ingest
name: ingest-orders
source:
  rest:
    url: http://127.0.0.1:8098/records
    records: $.records
    pagination: { token: { param: page_token, next: $.next } }
    incremental: { param: since, field: id }
key: id
destination:
  sqlite: { path: orders.db }
`}];function Le(w){return`kind: experiment
name: ${w}-experiment
dataset: { name: ${w} }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "{{  }}"
evaluators:
  - exact: { expect: "{{  }}" }
`}var Be=g('<div class="warning svelte-1djw1jv"><!></div>'),He=g('<dl class="svelte-1djw1jv"><dt class="svelte-1djw1jv">Job</dt><dd><b class="svelte-1djw1jv"> </b></dd> <dt class="svelte-1djw1jv">Kind</dt><dd> </dd> <dt class="svelte-1djw1jv"> </dt><dd class="metric svelte-1djw1jv"> </dd></dl> <!>',1),Xe=g('<p class="none muted svelte-1djw1jv">A valid file shows here how many items it has.</p>'),ze=g('<li class="svelte-1djw1jv"><!><div><b class="svelte-1djw1jv"> </b><p class="small muted"> </p></div></li>'),Ge=g("<ol></ol>"),Qe=g('<!> <!> <div class="foot small svelte-1djw1jv"><span class="muted"><!></span> <!></div>',1);function We(w,a){Ae(a,!0);const i=E(()=>a.checker.valid),r={operation:"targets",ingest:"slices"};var _=Qe(),v=L(_);{let d=E(()=>e(i)&&!a.checker.isValid?"of the last valid file":void 0);ye(v,{title:"Preview",get note(){return e(d)},children:(x,te)=>{var I=Ee(),U=L(I);{var u=c=>{var y=He(),T=L(y),M=s(n(T)),Y=n(M),B=A(Y,!0),q=s(M,3),ae=A(q,!0),Q=s(q,2),re=A(Q,!0),se=s(Q),ie=A(se,!0),oe=s(T,2);me(oe,16,()=>e(i).warnings,S=>S,(S,ne)=>{var H=Be(),le=n(H);Te(le,{tone:"warn",children:(de,he)=>{var W=Z();X(()=>b(W,ne)),o(de,W)},$$slots:{default:!0}}),o(S,H)}),X(S=>{b(B,e(i).job),b(ae,e(i).kind),b(re,r[e(i).kind]?r[e(i).kind]:"Items"),b(ie,S)},[()=>Ue(e(i).items)]),o(c,y)},N=c=>{var y=Xe();o(c,y)};K(U,c=>{e(i)?c(u):c(N,-1)})}o(x,I)},$$slots:{default:!0}})}var V=s(v,2);{var C=d=>{ye(d,{title:"Errors",get badge(){return a.checker.problems.length},children:(x,te)=>{var I=Ge();me(I,21,()=>a.checker.problems,Se,(U,u)=>{var N=ze(),c=n(N);{let q=E(()=>e(u).line?`${e(u).file&&e(u).file!=="job"?`${e(u).file}, `:""}line ${e(u).line}`:"file");ee(c,{status:"failed",get word(){return e(q)}})}var y=s(c),T=n(y),M=A(T,!0),Y=s(T),B=A(Y,!0);X(()=>{b(M,e(u).message),b(B,e(u).remedy)}),o(U,N)}),o(x,I)},$$slots:{default:!0}})};K(V,d=>{a.checker.problems.length>0&&d(C)})}var O=s(V,2),R=n(O),J=n(R);{var z=d=>{{let x=E(()=>a.checker.problems.length>0?"failed":"pending");ee(d,{get status(){return e(x)},get word(){return a.off}})}};K(J,d=>{a.off&&d(z)})}var G=s(R,2);{let d=E(()=>e(i)?.job??"job");Ye(G,{get cli(){return`windrow run ${e(d)??""}.yaml --server ${location.origin??""}`}})}o(w,_),Pe()}async function Ze(w,a){const i={"Idempotency-Key":`ui-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`},r=await je("post","/api/v1/jobs",{json:{file:w,...a?{first:a}:{}},headers:i,timeoutMs:12e4});for(const _ of r.warnings)ge.say(_);return ge.say(a?`${r.name}: running the first ${a} rows`:`${r.name} started`),{href:`/jobs/${encodeURIComponent(r.job)}`}}var et=g("<option> </option>"),tt=g('<select aria-label="Start from an example" class="svelte-1gr9uvi"><option disabled="">from an example</option><!></select>'),at=g("<!> <!> <!>",1),rt=g('<button type="button" title="F8: next error" class="svelte-1gr9uvi"><!></button>'),st=g('<div class="plan svelte-1gr9uvi"><!></div>'),it=g('<!> <input class="hidden" type="file" accept=".yaml,.yml,.json" aria-label="Job file" tabindex="-1"/> <div class="columns svelte-1gr9uvi"><div class="file svelte-1gr9uvi"><div class="bar svelte-1gr9uvi"><b class="mono"> </b> <span class="small muted" role="status"> </span> <span class="state svelte-1gr9uvi" role="status"><!></span></div> <div class="editor svelte-1gr9uvi"><!></div></div> <div class="side svelte-1gr9uvi"><!> <!> <!></div></div> <!>',1);function pt(w,a){Ae(a,!0);const i="windrow.draft",r=new Fe;function _(){const t=ue.param("dataset");return t?Le(t):fe.find(l=>l.id===ue.param("example"))?.text??sessionStorage.getItem(i)??""}let v=k(Ve(_e(()=>_()))),V=k(void 0),C=k(!1),O=k(void 0),R;be(()=>{const t=e(v);_e(()=>t.trim()?r.check(t):r.stop())}),be(()=>()=>r.stop());const J=E(()=>Ne.lacks("operator")??(e(v).trim()?r.problems.length>0?`Off until ${xe(r.problems.length,"error")} ${r.problems.length===1?"is":"are"} corrected`:r.isValid?void 0:"The file is being checked":"The file is empty"));function z(t){p(v,t,!0),p(O,void 0),sessionStorage.setItem(i,t)}function G(t){e(V)?e(V).setText(t):z(t)}async function d(t){t&&G(await t.text())}async function x(t){if(!(e(J)||e(C))){p(C,!0),p(O,void 0);try{const l=await Ze(e(v),t);sessionStorage.removeItem(i),ue.go(l.href)}catch(l){p(O,$e(l))}finally{p(C,!1)}}}function te(t){t.preventDefault(),d(t.dataTransfer?.files[0])}var I=it(),U=L(I);Je(U,{title:"New job",up:{href:"/jobs",title:"Jobs"},beside:j=>{var f=tt(),$=n(f);$.value=$.__value="";var F=s($);me(F,17,()=>fe,m=>m.id,(m,h)=>{var P=et(),D=A(P,!0),ce={};X(()=>{b(D,e(h).title),ce!==(ce=e(h).id)&&(P.value=(P.__value=ce)??"")}),o(m,P)}),f.value=f.__value="",ve("change",f,m=>(G(fe.find(h=>h.id===m.currentTarget.value)?.text??e(v)),m.currentTarget.value="")),o(j,f)},actions:j=>{var f=at(),$=L(f);pe($,{icon:"upload",onclick:()=>R.click(),children:(h,P)=>{var D=Z("Open file");o(h,D)},$$slots:{default:!0}});var F=s($,2);pe(F,{icon:"play",get off(){return e(J)},get sending(){return e(C)},title:"Runs the first 3 rows; a later full run reuses their results",onclick:()=>x(3),children:(h,P)=>{var D=Z("Run 3 rows");o(h,D)},$$slots:{default:!0}});var m=s(F,2);pe(m,{kind:"ink",icon:"play",get off(){return e(J)},get sending(){return e(C)},title:"Ctrl Enter",onclick:()=>x(),children:(h,P)=>{var D=Z("Run");o(h,D)},$$slots:{default:!0}}),o(j,f)},$$slots:{beside:!0,actions:!0}});var u=s(U,2);Ce(u,t=>R=t,()=>R);var N=s(u,2),c=n(N),y=n(c),T=n(y),M=A(T),Y=s(T,2),B=A(Y,!0),q=s(Y,2),ae=n(q);{var Q=t=>{var l=rt(),j=n(l);{let f=E(()=>xe(r.problems.length,"error"));ee(j,{status:"failed",get word(){return e(f)}})}ve("click",l,()=>e(V)?.next()),o(t,l)},re=t=>{ee(t,{status:"success",word:"valid"})};K(ae,t=>{r.problems.length>0?t(Q):r.isValid&&t(re,1)})}var se=s(y,2),ie=n(se);Oe(ie,()=>Ke(()=>import("./Editor-C7_So6Mm.js"),__vite__mapDeps([0,1,2,3])),null,(t,l)=>{var j=E(()=>{var{default:m}=e(l);return{Editor:m}}),f=E(()=>e(j).Editor),$=Ee(),F=L($);De(F,()=>e(f),(m,h)=>{h(m,{get text(){return e(v)},get problems(){return r.problems},onchange:z,onrun:()=>x(),onready:P=>p(V,P)})}),o(t,$)});var oe=s(c,2),S=n(oe);{var ne=t=>{we(t,{get error(){return e(O)}})};K(S,t=>{e(O)&&t(ne)})}var H=s(S,2);{var le=t=>{we(t,{get error(){return r.error}})};K(H,t=>{r.error&&t(le)})}var de=s(H,2);We(de,{get checker(){return r},get off(){return e(J)}});var he=s(N,2);{var W=t=>{var l=st(),j=n(l);Me(j,{get text(){return e(v)},get name(){return r.valid.job}}),o(t,l)};K(he,t=>{r.valid?.kind==="operation"&&r.isValid&&t(W)})}X(()=>{b(M,`${r.valid?.job??"job"??""}.yaml`),b(B,r.checking?"checking…":r.checkedAt?"checked as you type":"drop a job file here, or type")}),ve("change",u,()=>d(R.files?.[0])),ke("dragover",c,t=>t.preventDefault()),ke("drop",c,te),o(w,I),Pe()}Re(["change","click"]);export{pt as default};
