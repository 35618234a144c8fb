import{aB as e,O as f}from"./index-DdtbBZ-i.js";function s(r,t,o){e(()=>{var a=f(()=>t(r,o?.())||{});if(a?.destroy)return()=>a.destroy()})}export{s as a};
